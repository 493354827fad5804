# libpawl: all modules in one static library, with a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY PAWL_MODULES)
set(objects)
foreach(module ${modules})
  list(APPEND objects $<TARGET_OBJECTS:${module}>)
endforeach()
add_library(pawl STATIC ${objects})
add_library(pawl::pawl ALIAS pawl)
target_include_directories(pawl PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(pawl PUBLIC cxx_std_20)
target_link_libraries(pawl PUBLIC Threads::Threads PRIVATE SQLite::SQLite3 PkgConfig::ZSTD PkgConfig::LIBPQ OpenSSL::SSL ${HIREDIS}
  fmt::fmt Boost::json yaml-cpp PkgConfig::RE2)
if(PAWL_SANITIZE)
  target_link_options(pawl PUBLIC -fsanitize=${PAWL_SANITIZE})
endif()

# The adapters are headers. Their targets bring what they need beside libpawl.
add_library(pawl_boost_json INTERFACE)
add_library(pawl::boost_json ALIAS pawl_boost_json)
target_link_libraries(pawl_boost_json INTERFACE pawl Boost::json)
add_library(pawl_nlohmann_json INTERFACE)
add_library(pawl::nlohmann_json ALIAS pawl_nlohmann_json)
target_link_libraries(pawl_nlohmann_json INTERFACE pawl)
target_compile_definitions(pawl_nlohmann_json INTERFACE JSON_DIAGNOSTICS=1)  # errors name their field
set_target_properties(pawl_boost_json PROPERTIES EXPORT_NAME boost_json)
set_target_properties(pawl_nlohmann_json PROPERTIES EXPORT_NAME nlohmann_json)

install(TARGETS pawl pawl_boost_json pawl_nlohmann_json EXPORT pawl
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/pawl ${PROJECT_SOURCE_DIR}/include/pawl_boost
  ${PROJECT_SOURCE_DIR}/include/pawl_nlohmann DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(EXPORT pawl NAMESPACE pawl:: FILE pawl-targets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pawl
  COMPONENT library)
configure_package_config_file(cmake/pawl-config.cmake.in ${PROJECT_BINARY_DIR}/pawl-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pawl)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pawl-config-version.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH PAWL_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/pawl.pc.in ${PROJECT_BINARY_DIR}/pawl.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pawl-config.cmake ${PROJECT_BINARY_DIR}/pawl-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pawl COMPONENT library)
install(FILES ${PROJECT_BINARY_DIR}/pawl.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
